/**
 * The operations of the config file. `holdfast types` generates a file that adds them; `hf.run`, `hf.guard`, `hf.createFetch` and
 * `hf.undici` then accept only these names. While it is empty, they accept any string.
 */
// oxlint-disable-next-line no-empty-interface -- the generated file adds the members
export interface Operations {}

/** The name of an operation: a key of {@link Operations}, or any string while it is empty. */
export type OperationName = [keyof Operations] extends [never] ? string : keyof Operations & string
