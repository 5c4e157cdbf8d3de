/** Everything that a page was set to stands in its address, as plain text. */
export type Address = Readonly<Record<string, string | undefined>>;

export const parseAddress = (text: string): Address => Object.fromEntries(new URLSearchParams(text));

/** Plain text on both sides of the equals sign: addresses are read, typed and shared by people. */
export function printAddress(address: Readonly<Record<string, unknown>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(address)) {
    if (typeof value === 'string' && value !== '') parameters.set(name, value);
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}
