/** An instant of the service: milliseconds are kept, microseconds are not. */
export const dateOf = (text: string): Date => new Date(text);
export const dateOrNull = (text: string | null | undefined): Date | null =>
  text === null || text === undefined ? null : new Date(text);
