let last = 0;

/**
 * A UUID of version 7: random, but beginning with the time in milliseconds, so that keys made one after another lie
 * next to each other in an index. Never goes back within a process, even if the clock does.
 */
export function uuid7(now: number = Date.now()): string {
  last = Math.max(last, now);
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  for (let index = 0; index < 6; index++) bytes[index] = Math.floor(last / 2 ** (8 * (5 - index))) & 0xff;
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
