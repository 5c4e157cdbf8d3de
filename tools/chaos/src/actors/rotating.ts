/** Several addresses of one service; `advance` moves on to the next one after a failure. */
export function rotating(urls: readonly string[]): { readonly current: () => string; readonly advance: () => void } {
  let index = 0;
  return {
    current: () => urls[index % urls.length] ?? '',
    advance: () => void (index += 1),
  };
}
