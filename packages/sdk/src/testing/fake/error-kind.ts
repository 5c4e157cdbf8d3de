/**
 * What errors of a kind have in common: the first line, without names of files, ids and numbers. The service has the
 * same expressions in SQL (`millrace.error_kind`); one suite of tests holds both to the same groups.
 */
const EXTENSIONS =
  'png|jpe?g|gif|webp|heic|tiff?|svg|pdf|docx?|xlsx?|pptx?|odt|ods|rtf|txt|csv|tsv|parquet|avro|jsonl|ndjson|ya?ml|' +
  'zip|gz|tgz|bz2|xz|zst|tar|7z|mp[34]|mov|avi|mkv|webm|wav|ogg|flac|tmp';
const IN_QUOTES = `${EXTENSIONS}|json|xml|html?|log|bin|dat`;

const RULES: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`(["'\`])[^"'\`]*[.](?:${IN_QUOTES})(["'\`])`, 'gi'), '$1<file>$2'],
  [new RegExp(`[^\\][\\s"'\`(){}<>,;=:|]+[.](?:${EXTENSIONS})(?![0-9A-Za-z_])`, 'gi'), '<file>'],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, '<id>'],
  [/(?<![0-9A-Za-z])0x[0-9a-fA-F]+(?![0-9A-Za-z])/g, '<id>'],
  [
    /(?<![0-9A-Za-z])(?=[0-9A-Za-z]*[0-9])(?=[0-9A-Za-z]*[A-Za-z])([0-9a-fA-F]{8,}|[0-9A-Za-z]{16,})(?![0-9A-Za-z])/g,
    '<id>',
  ],
  [/(?<![0-9A-Za-z])([A-Za-z]+)_(?=[A-Za-z]*[0-9])[0-9A-Za-z]+(?![0-9A-Za-z_])/g, '$1_<id>'],
  [/[0-9]+([.][0-9]+)*/g, '<n>'],
];

/** Null: there is nothing to go by. */
export function errorKind(error: string | null): string | null {
  const [line = ''] = (error ?? '')
    .slice(0, 4_000)
    .replace(/^[ \t\r\n]+/, '')
    .split('\n');
  const text = line.slice(0, 1_000).replace(/[ \t\r]+$/, '');
  return RULES.reduce((kind, [pattern, by]) => kind.replace(pattern, by), text).slice(0, 200) || null;
}
