/**
 * JSON without loss, to compare what a worker sent back with what it was given: `JSON.parse` would round both sides
 * alike. A number is kept as its decimal digits and exponent, so `1.10` equals `1.1` and nothing else.
 */
export type ExactJson =
  null | boolean | string | { readonly number: string } | readonly ExactJson[] | ReadonlyMap<string, ExactJson>;

/** Reads a text that is known to be JSON. The source of each member of the outermost levels is not kept. */
export function parseExact(text: string): ExactJson {
  const reader = new Reader(text);
  const value = reader.value();
  reader.end();
  return value;
}

/** The member of an object; undefined if there is none or the value is no object. */
export const member = (value: ExactJson | undefined, key: string): ExactJson | undefined =>
  value instanceof Map ? (value as ReadonlyMap<string, ExactJson>).get(key) : undefined;

/** NaN if it is no number. */
export const numberOf = (value: ExactJson | undefined): number =>
  typeof value === 'object' && value !== null && 'number' in value ? Number(value.number) : NaN;

/** Whether both say the same, the order of members aside. */
export function sameJson(one: ExactJson | undefined, other: ExactJson | undefined): boolean {
  return one !== undefined && other !== undefined && canonical(one) === canonical(other);
}

function canonical(value: ExactJson): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item: ExactJson) => canonical(item)).join()}]`;
  if (value instanceof Map) {
    const members = [...(value as ReadonlyMap<string, ExactJson>)].map(
      ([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`,
    );
    return `{${members.sort().join()}}`;
  }
  return (value as { readonly number: string }).number;
}

/** `12.50e1` and `125` are both `125e0`: digits without outer zeros, and an exponent. */
export function canonicalNumber(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const trimmed = digits.replace(/0+$/, '');
  if (trimmed === '') return '0';
  return `${sign}${trimmed}e${Number(exponent) - fraction.length + digits.length - trimmed.length}`;
}

class Reader {
  #at = 0;

  constructor(readonly text: string) {}

  value(): ExactJson {
    this.#blank();
    const start = this.text[this.#at];
    if (start === '{') return this.#object();
    if (start === '[') return this.#array();
    if (start === '"') return this.#string();
    const token = this.#match(/-?\d[\d.eE+-]*|true|false|null/y);
    if (token === 'null') return null;
    if (token === 'true' || token === 'false') return token === 'true';
    return { number: canonicalNumber(token) };
  }

  end(): void {
    this.#blank();
    if (this.#at < this.text.length) throw new SyntaxError(`unexpected text at ${this.#at}`);
  }

  #object(): ReadonlyMap<string, ExactJson> {
    const members = new Map<string, ExactJson>();
    this.#list('{', '}', () => {
      const key = this.#string();
      this.#blank();
      this.#expect(':');
      members.set(key, this.value());
    });
    return members;
  }

  #array(): readonly ExactJson[] {
    const items: ExactJson[] = [];
    this.#list('[', ']', () => items.push(this.value()));
    return items;
  }

  #list(open: string, close: string, item: () => void): void {
    this.#expect(open);
    this.#blank();
    if (this.text[this.#at] === close) return this.#expect(close);
    for (;;) {
      this.#blank();
      item();
      this.#blank();
      if (this.text[this.#at] !== ',') return this.#expect(close);
      this.#expect(',');
    }
  }

  #string(): string {
    return JSON.parse(this.#match(/"(?:[^"\\]|\\.)*"/y)) as string;
  }

  #blank(): void {
    while (/\s/.test(this.text[this.#at] ?? '')) this.#at++;
  }

  #expect(character: string): void {
    if (this.text[this.#at] !== character) throw new SyntaxError(`expected ${character} at ${this.#at}`);
    this.#at++;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) throw new SyntaxError(`unexpected text at ${this.#at}`);
    this.#at += found.length;
    return found;
  }
}
