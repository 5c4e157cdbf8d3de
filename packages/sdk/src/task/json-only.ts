/* eslint-disable @typescript-eslint/no-explicit-any -- a map of anything is written ReadonlyMap<any, any> */
import type { InOfSchema, OutOfSchema, StandardSchema } from './schema.js';

/** What a JSON text cannot hold. */
type NotJson = Date | bigint | symbol | ((...args: never[]) => unknown) | ReadonlyMap<any, any> | ReadonlySet<any>;
type Simple = string | number | boolean | null;
type Nothing = undefined | void;

/** How many levels are left below this one. */
interface Below {
  9: 8;
  8: 7;
  7: 6;
  6: 5;
  5: 4;
  4: 3;
  3: 2;
  2: 1;
  1: 0;
}
type Level = keyof Below | 0;

/**
 * True if something inside is not JSON, never if all of it is. `any` and `unknown` are taken as they are. Says nothing
 * of where, so that the compiler keeps the answer for a type and a level: a recursive type costs its parts times the
 * levels, whatever its shape.
 */
type IsOdd<T, Left extends Level> = unknown extends T
  ? never
  : T extends Simple | Nothing
    ? never
    : T extends NotJson
      ? true
      : Left extends keyof Below
        ? T extends readonly (infer E)[]
          ? IsOdd<E, Below[Left]>
          : { [K in keyof T & string]-?: IsOdd<T[K], Below[Left]> }[keyof T & string]
        : never;

/** The path of a field that is not JSON. Only asked for once it is known that there is one. */
type Odd<T, Left extends Level, Path extends string> = unknown extends T
  ? never
  : T extends Simple | Nothing
    ? never
    : T extends NotJson
      ? Path
      : Left extends keyof Below
        ? T extends readonly (infer E)[]
          ? Odd<E, Below[Left], `${Path}[]`>
          : OddField<T, Below[Left], Path>
        : never;
type OddField<T, Left extends Level, Path extends string> = {
  [K in keyof T & string]-?: Odd<T[K], Left, Path extends '' ? K : `${Path}.${K}`>;
}[keyof T & string];

/** The path, if it is not too far down to be looked for. */
type Named<Path extends string> = [Path] extends [never] ? 'deep inside it' : Path;

/** True if some value of the type is no object; never if all are, or nothing at all. */
type IsBare<T> = unknown extends T
  ? never
  : T extends Nothing
    ? never
    : T extends Simple | NotJson | readonly unknown[]
      ? true
      : never;

/** A schema whose data can be sent, or one line that says why it cannot. Nine levels are looked at. */
type Sendable<S, T, What extends string> = [IsBare<T>] extends [never]
  ? [IsOdd<T, 9>] extends [never]
    ? S
    : `the ${What} has a field that is not JSON (${Named<Odd<T, 4, ''>>}): send a string or a number`
  : `the ${What} is not an object: wrap it, as in { value: … }`;

/**
 * Looks at the data alone, never at the schema itself: those of some validators are too large to compare.
 */
export type InputSchema<S extends StandardSchema<any, any>> = Sendable<S, InOfSchema<S>, 'input'>;
export type OutputSchema<S extends StandardSchema<any, any>> = Sendable<S, OutOfSchema<S>, 'output'>;
