/**
 * The operations of the config file. `holdfast types` generates a file that adds them; `hf.run`, `hf.guard`, `hf.createFetch`,
 * `hf.undici`, `hf.deadLetters.handle`, `hf.config.explain` and the steps of `hf.pipeline` then accept only these names. While it is
 * empty, they accept any string.
 */
export interface Operations {}

/** The name of an operation: a key of {@link Operations}, or any string while it is empty. */
export type OperationName = [keyof Operations] extends [never] ? string : Extract<keyof Operations, string>
