export { runOracles, type OracleOptions, type OracleReport } from './run-all.ts';
