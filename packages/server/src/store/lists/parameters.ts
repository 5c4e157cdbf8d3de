import { toSent, type Bindable, type SentValue, type Statement } from '../sql.js';

/** The values of an assembled statement: each part names its own, and gets the parameter to put into its text. */
export class Parameters {
  readonly #values: SentValue[] = [];
  /** Every list is a tenant's. */
  readonly tenant: string;

  constructor(tenant: string) {
    this.tenant = this.add(tenant);
  }

  add(value: Bindable): string {
    return `$${this.#values.push(toSent(value))}`;
  }

  of(name: string, text: string): Statement {
    return { name, text, values: this.#values };
  }
}
