/** The name under which a class of ours is known in every copy of the package. */
const OURS = Symbol.for('@millrace/sdk/class');

type Class = abstract new (...args: never[]) => object;

/**
 * A process that imports the package in one place and requires it in another has two copies of it. With this, an error
 * of one copy is an `instanceof` the class of the same name in the other: a worker that was imported knows the
 * `NonRetryableError` of a handler that was required.
 */
export function knownInBothFormats(classes: Readonly<Record<string, Class>>): void {
  for (const [name, each] of Object.entries(classes)) {
    Object.defineProperty(each, OURS, { value: name });
    Object.defineProperty(each, Symbol.hasInstance, { value: isInstance });
  }
}

function isInstance(this: Class, value: unknown): boolean {
  if (Function.prototype[Symbol.hasInstance].call(this, value)) return true;
  const name = nameOf(this);
  // A class that somebody derived from ours inherits this method, and exists once.
  if (name === undefined || typeof value !== 'object') return false;
  for (let each = value; each !== null; each = Object.getPrototypeOf(each) as object | null) {
    if (nameOf((each as { constructor?: unknown }).constructor) === name) return true;
  }
  return false;
}

function nameOf(each: unknown): unknown {
  return typeof each === 'function' && Object.hasOwn(each, OURS) ? (each as { [OURS]?: unknown })[OURS] : undefined;
}
