/** Names of fields and headers whose value is a secret, as they occur in our code and in the libraries we log from. */
export const SECRET_KEYS = [
  'authorization',
  'Authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'password',
  'apiKeys',
  'jwtSecret',
  'workerToken',
  'token',
  'leaseToken',
  'lease_token',
  'secret',
  'connectionString',
] as const;

/** Shorter ones are words; cutting them out of every line would hide the log, not the secret. */
const SHORTEST_SECRET = 4;

const END_OF_USER = /[\s:@/"'\\]/g;
const END_OF_PASSWORD = /[\s@"']/g;
const PASSWORD_IN_QUERY = /([?&\s](?:password|sslpassword)=)[^&\s"']+/gi;
/** The word "token" after it is prose, as in our own messages. */
const BEARER = /\b(bearer\s+)(?!tokens?\b)[^\s"'\\,]+/gi;

/** The address of a database as it may be shown: everything but the password. */
export function redactUrl(url: string, censor = '***'): string {
  return withoutPasswords(url, censor).replace(PASSWORD_IN_QUERY, `$1${censor}`);
}

/**
 * `://user:password@` without the password. Lines hold what callers sent, megabytes of it if they like, so this looks at each character
 * once; a pattern that begins anywhere and ends somewhere would try every beginning with every end.
 */
function withoutPasswords(text: string, censor: string): string {
  let clean = '';
  let copied = 0;
  let at = text.indexOf('://');
  while (at !== -1) {
    const userEnd = find(text, END_OF_USER, at + 3);
    let next = userEnd;
    if (text[userEnd] === ':') {
      next = find(text, END_OF_PASSWORD, userEnd + 1);
      if (text[next] === '@') {
        clean += `${text.slice(copied, userEnd)}:${censor}`;
        copied = next;
      }
    }
    at = text.indexOf('://', next);
  }
  return copied === 0 ? text : clean + text.slice(copied);
}

/** Where the pattern is found first, or the end. */
function find(text: string, pattern: RegExp, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? text.length;
}

/** A function that takes the secrets out of a finished line. */
export function createScrubber(secrets: readonly string[], censor: string): (line: string) => string {
  const known = knownForms(secrets);
  return (line) => {
    let clean = redactUrl(line, censor).replace(BEARER, `$1${censor}`);
    for (const form of known) if (clean.includes(form)) clean = clean.replaceAll(form, censor);
    return clean;
  };
}

/** A secret stands in a line as it is, escaped as JSON, or percent-encoded in a URL. Longest first: one may hold another. */
function knownForms(secrets: readonly string[]): readonly string[] {
  const forms = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]);
  return [...new Set(forms)].sort((a, b) => b.length - a.length);
}

/** The password of a connection URL, if it has one, in the form a driver would use. */
export function passwordOf(url: string): string | null {
  const encoded = /^[a-z]+:\/\/[^\s:@/]*:(.*)@/i.exec(url)?.[1];
  if (encoded === undefined || encoded === '') return null;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}
