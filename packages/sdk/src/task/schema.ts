/* eslint-disable @typescript-eslint/no-explicit-any -- a schema of anything is written StandardSchema<any, any> */

/**
 * What every Standard Schema validator offers (https://standardschema.dev): zod, valibot, arktype and others. The
 * service sends what goes in; handlers get what comes out, with defaults applied.
 */
export interface StandardSchema<In = unknown, Out = In> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Out> | Promise<SchemaResult<Out>>;
    readonly types?: { readonly input: In; readonly output: Out } | undefined;
  };
}

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type SchemaResult<Out> =
  { readonly value: Out; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] };

export type InOfSchema<S extends StandardSchema<any, any>> = NonNullable<S['~standard']['types']>['input'];
export type OutOfSchema<S extends StandardSchema<any, any>> = NonNullable<S['~standard']['types']>['output'];

/**
 * Types without a validator: checked by the compiler, not at run time.
 *
 * @example task({ name: 'resize', input: type<{ image: number }>(), output: type<{ bytes: number }>() })
 */
export function type<T extends object>(): StandardSchema<T, T> {
  return { '~standard': { version: 1, vendor: 'millrace', validate: (value) => ({ value: value as T }) } };
}

/** Where an issue lies, as the service writes it: `lines[2].sku`. */
export function pathOf(issue: SchemaIssue): string {
  const keys = (issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part));
  return keys.reduce<string>((path, key) => {
    if (typeof key === 'number') return `${path}[${key}]`;
    return path === '' ? String(key) : `${path}.${String(key)}`;
  }, '');
}
