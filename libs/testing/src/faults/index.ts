export { FaultyDatabase } from './faulty-database.ts';
export { FaultyRedis } from './faulty-redis.ts';
export { FaultReceipts, type FaultReceipt } from './receipts.ts';
export { TcpProxy, type ProxyOptions } from './tcp-proxy.ts';
export { endsMysqlReply, type ReplyCut, type Toxics } from './toxics.ts';
