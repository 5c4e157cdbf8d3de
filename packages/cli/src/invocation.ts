/** What a command gets, and the way it talks: everything it prints and reads goes through here. */
export interface Invocation {
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly isTTY: boolean;
  readonly underNpm: boolean;
  readonly print: (text: string) => void;
}
