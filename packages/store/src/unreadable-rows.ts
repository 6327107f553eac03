/** The rows of a database that cannot be read. They are skipped, so that all others can be read. */
export class UnreadableRows {
  private readonly rows = new Set<string>()
  private readonly warn: (row: string) => void

  /** `warn` receives the description of a row when it is skipped for the first time. */
  constructor(warn: (row: string) => void) {
    this.warn = warn
  }

  /** Whether rows were skipped. */
  get any(): boolean {
    return this.rows.size > 0
  }

  /** Skips a row, and warns about it once. `key` identifies the row, and is not its text. */
  skip(table: string, key: number | string): void {
    const row = `the row ${JSON.stringify(key)} of ${table}`
    if (this.rows.has(row)) return
    this.rows.add(row)
    this.warn(`${row} is damaged, its records are skipped`)
  }
}
