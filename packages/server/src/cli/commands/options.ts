import { InvalidArgumentError, Option } from 'commander'

/** Reads a whole number, or says what is taken. */
export const parseInteger =
  (min: number, max = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(
      max === Number.MAX_SAFE_INTEGER
        ? `It takes a whole number from ${min}.`
        : `It takes a whole number from ${min} to ${max}.`,
    )
  }

/** Reads a number above 0. */
export const parsePositiveNumber = (text: string): number => {
  const value = Number(text)
  if (text.trim() !== '' && value > 0 && Number.isFinite(value)) return value
  throw new InvalidArgumentError('It takes a number above 0.')
}

/** Takes an option that may be given several times. */
export const repeatable = (flags: string, about: string): Option =>
  new Option(flags, `${about}; may be repeated`).argParser(
    (text: string, before: readonly string[] | undefined) => [...(before ?? []), text],
  )

export const limitOption = (): Option =>
  new Option('-n, --limit <n>', 'how many').argParser(parseInteger(1)).default(50)

export const reasonOption = (): Option => new Option('--reason <text>', 'why, for the audit trail')
