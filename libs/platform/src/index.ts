export { CONFIGURATION_INVALID, configurationInvalid, configurationProblems, environment, loadConfig, QUAESTOR_VARIABLES, type Environment } from './load-config.ts';
export { platformConfig, type PlatformConfig } from './platform-config.ts';
export { createLogger, nestLogger, type Logger, type LoggerOptions } from './logger.ts';
export { collectNodeMetrics, counter, gauge, histogram, metricsRegistry, scrapedGauge, type MetricLabels, type Reading, type ScrapedGauge } from './metrics.ts';
export { failingChecks, startHealthServer, type HealthServer, type HealthServerOptions, type ReadinessCheck } from './health-server.ts';
export { Shutdown, type ShutdownOptions } from './shutdown.ts';
export * from './local-services/index.ts';
