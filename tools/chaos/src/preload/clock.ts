/**
 * Loaded into a server before anything else (`node --import`): a wall clock that is wrong, and jumps. CHAOS_CLOCK is a
 * list of pairs: after how many milliseconds of the process, and by how many milliseconds the clock is off from then
 * on. Timers and the monotonic clock stay right, as they do on a machine whose clock somebody sets.
 */
const plan = JSON.parse(process.env.CHAOS_CLOCK ?? '[]') as readonly (readonly [number, number])[];
const TrueDate = Date;

const shift = (): number => plan.findLast(([after]) => performance.now() >= after)?.[1] ?? 0;
const now = (): number => TrueDate.now() + shift();

globalThis.Date = new Proxy(TrueDate, {
  construct: (target, args: unknown[], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as Date,
  apply: () => new TrueDate(now()).toString(),
  get: (target, name, receiver) => (name === 'now' ? now : (Reflect.get(target, name, receiver) as unknown)),
});
