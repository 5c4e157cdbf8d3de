/** Makes the error that refuses a field or parameter. The service and the fake server each have their own. */
export type Refuse = (path: string, message: string) => Error;

export const NOT_STORABLE = 'must not contain NUL characters or lone surrogates';
