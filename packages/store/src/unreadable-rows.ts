/** The rows of a database that cannot be read. They are skipped, so that all others can be read. */
export class UnreadableRows {
  private readonly rows = new Set<string>()
  private readonly warn: (problem: string) => void

  /** `warn` receives a sentence about each row, once. */
  constructor(warn: (problem: string) => void) {
    this.warn = warn
  }

  /** Whether there are any. */
  get hasRows(): boolean {
    return this.rows.size > 0
  }

  /** Reports a row that the caller skips. `key` identifies the row, and is not its text. */
  report(table: string, key: number | string): void {
    const row = `the row ${JSON.stringify(key)} of ${table}`
    if (this.rows.has(row)) return
    this.rows.add(row)
    this.warn(`${row} is damaged, its records are skipped`)
  }
}
