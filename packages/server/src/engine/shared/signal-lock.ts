/** What the lock of a signal is named after. Text that could be read in two ways would only make strangers wait. */
export const signalLock = (tenant: string, name: string, key: string): string => JSON.stringify([tenant, name, key]);
