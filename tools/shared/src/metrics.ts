/** Reads a server's metrics page; the result looks up a metric by name and gives NaN for an unknown one. */
export async function readMetrics(metricsUrl: string): Promise<(name: string) => number> {
  const page = await (await fetch(new URL('/metrics', metricsUrl))).text();
  return (name) => Number(new RegExp(`^${name}(?:{[^}]*})? (\\S+)$`, 'm').exec(page)?.[1] ?? NaN);
}
