/** Names of fields and headers whose value is a secret, as they occur in our code and in the libraries we log from. */
export const SECRET_KEYS = [
  'authorization',
  'Authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'password',
  'apiKeys',
  'readKeys',
  'jwtSecret',
  'workerToken',
  'adminToken',
  'outboxToken',
  'token',
  'leaseToken',
  'lease_token',
  'secret',
  'connectionString',
] as const;

/** Shorter ones are words; cutting them out of every line would hide the log, not the secret. */
export const SHORTEST_SCRUBBED = 6;

const END_OF_USER = /[\s:@/"'\\]/g;
const END_OF_PASSWORD = /[\s@"']/g;
const PASSWORD_IN_QUERY = /([?&\s](?:password|sslpassword)=)[^&\s"']+/gi;
/**
 * Three parts of base64url, the first of them a JSON object. It begins where no such text goes on before it, so that
 * each character is looked at a few times at most.
 */
const JWT = /(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]*/g;
/** The word "token" after it is prose, as in our own messages. */
const BEARER = /\b(bearer\s+)(?!tokens?\b)[^\s"'\\,]+/gi;

/** The address of a database as it may be shown: everything but the password. */
export function redactUrl(url: string, censor = '***'): string {
  return withoutPasswords(url, censor).replace(PASSWORD_IN_QUERY, `$1${censor}`);
}

/**
 * `://user:password@` without the password. Lines hold what callers sent, megabytes of it if they like, so this looks
 * at each character once; a pattern that begins anywhere and ends somewhere would try every beginning with every end.
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

/**
 * A function that takes the secrets out of a finished line of JSON, and leaves what the line is made of: its keys, its
 * level and its time. A token that happens to be called `level` must not make lines that nobody can read.
 */
export function createScrubber(secrets: () => readonly string[], censor: string): (line: string) => string {
  const scrub = textScrubber(secrets, censor);
  return (line) => {
    // Almost no line has anything to hide, and only those that may have are taken apart.
    if (scrub(line) === line) return line;
    const fields = Object.entries(JSON.parse(line) as Record<string, unknown>).map(([key, value]) =>
      UNTOUCHED.has(key) ? [key, value] : [key, scrubValue(value, scrub)],
    );
    return `${JSON.stringify(Object.fromEntries(fields))}\n`;
  };
}

const UNTOUCHED = new Set(['level', 'time', 'pid']);
/** Keys within a value are the caller's if they are long, and names of fields if they are short. */
const LONGEST_FIELD_NAME = 15;

function scrubValue(value: unknown, scrub: (text: string) => string): unknown {
  if (typeof value === 'string') return scrub(value);
  if (Array.isArray(value)) return value.map((item) => scrubValue(item, scrub));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name.length > LONGEST_FIELD_NAME ? scrub(name) : name,
      scrubValue(inner, scrub),
    ]),
  );
}

/** The secrets of this process, in whatever form, and what looks like anybody's. */
function textScrubber(secrets: () => readonly string[], censor: string): (text: string) => string {
  let listed: readonly string[] | null = null;
  let known: readonly string[] = [];
  return (text) => {
    // Credentials may be replaced while we run; their list is then another one.
    const list = secrets();
    if (list !== listed) known = knownForms((listed = list));
    let clean = redactUrl(text, censor).replace(BEARER, `$1${censor}`).replace(JWT, censor);
    for (const form of known) if (clean.includes(form)) clean = clean.replaceAll(form, censor);
    return clean;
  };
}

/**
 * A secret occurs in a text as it is, escaped as JSON, or percent-encoded in a URL. Longest first: one may hold
 * another.
 */
function knownForms(secrets: readonly string[]): readonly string[] {
  const forms = secrets
    .filter((secret) => secret.length >= SHORTEST_SCRUBBED)
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
