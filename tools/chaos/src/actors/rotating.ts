/** Several addresses of one service; the next one when the current one fails. */
export function rotating(urls: readonly string[]): { readonly current: () => string; readonly advance: () => void } {
  let index = 0;
  return {
    current: () => urls[index % urls.length] ?? '',
    advance: () => void (index += 1),
  };
}
