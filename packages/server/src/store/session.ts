/**
 * Session settings travel in the `options` parameter of a connection. The driver would let one in the URL replace ours altogether, time zone and
 * plans included; so the operator's are taken out of the URL and come first, and ours, on which the statements rely, last.
 */
export function withSettings(url: string, settings: readonly string[]): { connectionString: string; options: string } {
  const ours = settings.map((setting) => `-c ${setting}`);
  const start = url.indexOf('?');
  if (start === -1) return { connectionString: url, options: ours.join(' ') };
  const parameters = url.slice(start + 1).split('&');
  const isOptions = (parameter: string): boolean => parameter.startsWith('options=');
  const theirs = parameters
    .filter(isOptions)
    .map((parameter) => decodeURIComponent(parameter.slice('options='.length)));
  const others = parameters.filter((parameter) => !isOptions(parameter));
  const query = others.length === 0 ? '' : `?${others.join('&')}`;
  return { connectionString: url.slice(0, start) + query, options: [...theirs, ...ours].join(' ') };
}
