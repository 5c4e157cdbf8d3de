/** Where a command reads and writes. Whether that is a terminal decides on colour, width and progress, nothing else. */
export interface Io {
  /** Writes lines to standard output, and waits while its reader is slow. */
  print(text: string): Promise<void>;
  /** Writes to standard error as it is. */
  complain(text: string): void;
  /** Standard input. */
  read(): AsyncIterable<string>;
  readonly terminal: {
    readonly stdin: boolean;
    readonly stdout: boolean;
    readonly stderr: boolean;
    /** Infinite where it is none. */
    columns(): number;
  };
}

/** The streams of this process. */
export function processIo(): Io {
  const { stdin, stdout, stderr } = process;
  return {
    print: async (text) => {
      if (!stdout.write(`${text}\n`)) await new Promise((resolve) => stdout.once('drain', resolve));
    },
    complain: (text) => void stderr.write(text),
    read: () => stdin.setEncoding('utf8') as AsyncIterable<string>,
    terminal: {
      stdin: stdin.isTTY,
      stdout: stdout.isTTY,
      stderr: stderr.isTTY,
      columns: () => (stdout.isTTY ? stdout.columns : stderr.isTTY ? stderr.columns : Infinity) || 80,
    },
  };
}

/** Everything that standard input has, up to a limit. */
export async function readAll(io: Io, most: number): Promise<string | null> {
  let text = '';
  for await (const chunk of io.read()) {
    text += chunk;
    if (text.length > most) return null;
  }
  return text;
}

/** The first line of standard input: an answer to a question. */
export async function readLine(io: Io): Promise<string> {
  let text = '';
  for await (const chunk of io.read()) {
    text += chunk;
    if (text.includes('\n') || text.length > 1_000) break;
  }
  return text.split('\n')[0] ?? '';
}
