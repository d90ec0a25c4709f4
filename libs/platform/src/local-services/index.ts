export { startLocalServices, statusLocalServices, stopLocalServices, type LocalServices, type LocalServicesOptions, type ServiceStatus } from './local-services.ts';
export { freePort } from './ports.ts';
