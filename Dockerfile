# syntax=docker/dockerfile:1

# One image, four commands: gateway (default), supervisor, worker, scratchpad; and `node dist/apps/cli/src/main.js migrate`.
FROM node:24-bookworm-slim AS base
WORKDIR /app
COPY package.json package-lock.json ./

FROM base AS build
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY libs libs
COPY apps apps
RUN ["node", "node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json"]

FROM base AS dependencies
# The image has its own Node: the packages that bring one along are only weight here.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 && rm -rf node_modules/node-linux-* node_modules/node-darwin-* node_modules/.bin/node

FROM node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json ./
COPY scripts scripts
COPY docs docs
USER node
EXPOSE 4100
# Exec form: signals reach Node itself, which drains and leaves.
CMD ["node", "--max-semi-space-size=8", "dist/apps/gateway/src/main.js"]
