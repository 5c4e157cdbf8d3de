export const TEMPLATE = 'millrace_template';

/** The same server, but another database. */
export function databaseUrl(url: string, database: string): string {
  const result = new URL(url);
  result.pathname = `/${database}`;
  return result.href;
}
