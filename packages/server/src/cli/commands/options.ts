import { InvalidArgumentError, Option } from 'commander'

/** Reads a whole number, or says what is taken. */
export const whole =
  (least: number, most = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= least && value <= most) return value
    throw new InvalidArgumentError(
      most === Number.MAX_SAFE_INTEGER
        ? `It takes a whole number from ${least}.`
        : `It takes a whole number from ${least} to ${most}.`,
    )
  }

/** Reads a number above 0. */
export const above = (text: string): number => {
  const value = Number(text)
  if (text.trim() !== '' && value > 0 && Number.isFinite(value)) return value
  throw new InvalidArgumentError('It takes a number above 0.')
}

/** Takes an option that may be given several times. */
export const several = (flags: string, about: string): Option =>
  new Option(flags, `${about}; may be repeated`).argParser(
    (text: string, before: readonly string[] | undefined) => [...(before ?? []), text],
  )

export const limit = (): Option => new Option('-n, --limit <n>', 'how many').argParser(whole(1)).default(50)

export const reason = (): Option => new Option('--reason <text>', 'why, for the audit trail')
