import { checkText, describeProblem, type Environment, type Problem } from '@holdfast/config'
import { HoldfastError } from 'holdfast'

/** The problems of a text. */
interface Validation {
  valid: boolean
  errors: readonly Problem[]
  warnings: readonly Problem[]
}

/** Validates texts of configurations, one at a time, because each large one needs a thread. */
export class TextValidator {
  private readonly env: Environment
  private last: Promise<unknown> = Promise.resolve()
  private isClosed = false

  constructor(env: Environment) {
    this.env = env
  }

  /** @throws CANCELLED if the validator is closed before the text is validated */
  async validate(text: string): Promise<Validation> {
    const checked = this.last.then(() => {
      if (this.isClosed) throw new HoldfastError('CANCELLED', 'the runtime is closed')
      return checkText(text, { env: this.env })
    })
    this.last = checked.catch(() => {})
    const { config, problems, warnings } = await checked
    return {
      valid: config !== undefined,
      errors: problems.map(describeProblem),
      warnings: warnings.map(describeProblem),
    }
  }

  /** Rejects the texts that wait, because their threads would keep the process running. */
  close(): void {
    this.isClosed = true
  }
}
