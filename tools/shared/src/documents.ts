export interface Marks {
  readonly begin: string;
  readonly end: string;
}

/** The document with `text` between its marks, in place of whatever was there. */
export function replaceBetween(document: string, { begin, end }: Marks, text: string): string {
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the document has no ${begin} ... ${end}`);
  return `${document.slice(0, from + begin.length)}\n${text}\n${document.slice(to)}`;
}
