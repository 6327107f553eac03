/** The value of a parameter. An array is one parameter. */
export type PostgresValue = string | number | boolean | null | readonly (string | number | null)[]

/** Returns the qualified name of a table. */
export type QualifyTable = (name: string) => string

/** Collects the values of a statement, and returns the placeholder of each. */
export class StatementValues {
  readonly list: PostgresValue[] = []

  add(value: PostgresValue): string {
    return `$${this.list.push(value)}`
  }
}

/** Array parameters for columns with these types, numbered from `first` on. Each has the values of all rows. */
export const arrayParameters = (types: readonly string[], first: number): string =>
  types.map((type, i) => `$${i + first}::${type}[]`).join(', ')
