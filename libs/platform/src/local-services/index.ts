export {
  startLocalServices,
  statusLocalServices,
  stopLocalServices,
  stopUnusedLocalServices,
  type LocalServices,
  type LocalServicesOptions,
  type ServiceStatus,
} from './local-services.ts';
export { keepLocalServices } from './keep-local-services.ts';
export { freePort, portIsFree } from './ports.ts';
export { identifyProcess, isAlive, type ProcessIdentity } from './processes.ts';
