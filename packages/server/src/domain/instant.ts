export { isInstant, parseInstant, parseQueryInstant } from '@millrace/sdk/rules';
