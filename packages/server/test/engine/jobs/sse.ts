import type { Job } from '@millrace/contract';
import { expect } from 'vitest';
import type { Client } from '../../support/client.js';

/** An event stream, read as it comes. */
export class Events<T = Job> {
  #buffer = '';
  readonly #decoder = new TextDecoder();
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  constructor(readonly response: Response) {
    this.#reader = response.body!.getReader();
  }

  /** The next state, or null at the end of the stream. Skips comments; fails on anything else that is not an event. */
  async next(): Promise<T | null> {
    for (;;) {
      const end = this.#buffer.indexOf('\n\n');
      if (end >= 0) {
        const block = this.#buffer.slice(0, end);
        this.#buffer = this.#buffer.slice(end + 2);
        if (block.startsWith(':')) continue;
        const [event, data, ...more] = block.split('\n');
        expect([event, data!.slice(0, 6), more]).toEqual(['event: status', 'data: ', []]);
        return JSON.parse(data!.slice(6)) as T;
      }
      const { done, value } = await this.#reader.read();
      if (done) {
        expect(this.#buffer).toBe('');
        return null;
      }
      this.#buffer += this.#decoder.decode(value, { stream: true });
    }
  }

  async rest(): Promise<T[]> {
    const states: T[] = [];
    for (let state = await this.next(); state !== null; state = await this.next()) states.push(state);
    return states;
  }

  async close(): Promise<void> {
    await this.#reader.cancel();
  }
}

export async function openEvents(client: Client, id: string): Promise<Events> {
  const response = await client.open('GET', `/api/v1/jobs/${id}/events`);
  expect(response.status).toBe(200);
  return new Events(response);
}

export const statusesOf = (states: readonly Job[]): string[] => states.map((state) => state.status);
