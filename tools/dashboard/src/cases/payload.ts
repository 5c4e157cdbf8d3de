import { performance } from 'node:perf_hooks';
import { holds, took, type Case } from '../case.js';

/** Just below the largest payload that the service takes by default. */
const BYTES = 4 * 1024 * 1024 - 64;

/** Members of every kind, among them numbers that no JavaScript number holds. */
function payloadOf(bytes: number): string {
  const parts: string[] = [];
  let length = 20;
  for (let n = 0; length < bytes - 200; n++) {
    const id = `90071992547409${10 + (n % 90)}`;
    const part = `{"id": ${id}, "price": 1.10, "name": "item ${n}", "tags": ["a", "b"], "ok": true}`;
    parts.push(part);
    length += part.length + 1;
  }
  return `{"items":[${parts.join(',')}]}`;
}

/** A payload of 4 MiB: shown folded, unfolded in portions, and copied to the byte. */
export const payload: Case = {
  name: 'payload',
  title: 'A payload of 4 MiB',
  run: async (stage) => {
    const text = payloadOf(BYTES);
    const { job_id } = await stage.tenant.post<{ job_id: string }>(
      '/jobs',
      `{"task_name":"large","payload":${text},"config":{"queue":"large-payload"}}`,
    );
    const page = await stage.visit(`/operations`);
    const began = performance.now();
    await page.goto(`${stage.service.url}/ui/jobs/${job_id}`);
    const tree = page.getByRole('region', { name: 'Payload' });
    await tree.locator('summary').first().waitFor();
    const openedMs = performance.now() - began;
    const items = tree.locator('summary', { hasText: '"items"' });
    const unfoldedAt = performance.now();
    await items.click();
    await tree.getByRole('button', { name: '100 more' }).waitFor();
    const unfoldedMs = performance.now() - unfoldedAt;
    const shown = await tree.locator('> details > .json-members > details > .json-members > details').count();
    await items.click();
    await tree.getByRole('button', { name: '100 more' }).waitFor({ state: 'detached' });
    const panel = page.locator('section, .panel', { has: page.getByRole('heading', { name: 'Payload' }) }).last();
    await panel.getByRole('button', { name: 'Copy' }).click();
    await panel.getByText('Copied').waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    await page.context().close();
    return [
      took(`Opened, ${(text.length / 2 ** 20).toFixed(2)} MiB`, openedMs, 2000),
      took('Unfolded: the first hundred of its items', unfoldedMs, 1000),
      holds('A hundred items are drawn, not all', shown === 100, `${shown} items`),
      holds('Copied to the byte', copied === text),
    ];
  },
};
