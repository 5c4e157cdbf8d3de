import cronstrue from 'cronstrue';

const NICKNAMES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** The expression in words; null if it has none, which does not make it wrong: the server decides that. */
export function wordsOf(expression: string): string | null {
  const plain = expression.trim();
  try {
    return cronstrue.toString(NICKNAMES[plain.toLowerCase()] ?? plain, { use24HourTimeFormat: true, verbose: false });
  } catch {
    return null;
  }
}
