/* eslint-disable @typescript-eslint/no-explicit-any -- a map of anything is written ReadonlyMap<any, any> */

/** What a JSON text cannot hold. */
type NotJson = Date | bigint | symbol | ((...args: never[]) => unknown) | ReadonlyMap<any, any> | ReadonlySet<any>;
type Simple = string | number | boolean | null | undefined | void;

/** How many levels are left below this one. */
interface Below {
  4: 3;
  3: 2;
  2: 1;
  1: 0;
}

/** The path of a field that is not JSON; never if there is none. `any` and `unknown` are taken as they are. */
type Odd<T, Left extends keyof Below | 0, Path extends string> = unknown extends T
  ? never
  : T extends Simple
    ? never
    : T extends NotJson
      ? Path
      : Left extends keyof Below
        ? T extends readonly (infer E)[]
          ? Odd<E, Below[Left], `${Path}[]`>
          : OddField<T, Below[Left], Path>
        : never;
type OddField<T, Left extends keyof Below | 0, Path extends string> = {
  [K in keyof T & string]-?: Odd<T[K], Left, Path extends '' ? K : `${Path}.${K}`>;
}[keyof T & string];

/**
 * Looks at the fields of an input or a result, four levels deep on purpose: deeper checks cost compile time and break
 * on recursive types. Never looks at the schema itself: those of some validators are too large to compare.
 */
export type JsonOnly<T> = [Odd<T, 4, ''>] extends [never]
  ? unknown
  : { readonly error: `the field ${Odd<T, 4, ''>} is not JSON; send a string or a number` };
