import { InvalidArgumentError, Option } from 'commander'
import { parseDuration } from 'holdfast/internal'

/** Creates a parser of integers within bounds. */
export const parseInteger =
  (min: number, max = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(
      max === Number.MAX_SAFE_INTEGER
        ? `Expected an integer from ${min}.`
        : `Expected an integer from ${min} to ${max}.`,
    )
  }

/** Parses a number above 0. */
export const parsePositiveNumber = (text: string): number => {
  const value = Number(text)
  if (text.trim() !== '' && value > 0 && Number.isFinite(value)) return value
  throw new InvalidArgumentError('Expected a number above 0.')
}

/** Parses the duration of a trip: seconds, or `Infinity` for `reset`. */
export const parseTripDuration = (text: string): number | 'Infinity' => {
  if (text === 'reset') return 'Infinity'
  const ms = parseDuration(text)
  if (ms > 0) return ms / 1000
  throw new InvalidArgumentError('Expected a duration such as 90s, 10m, 2h or 1d, or reset.')
}

/** Creates an option that can be given several times. */
export const repeatable = (flags: string, about: string): Option =>
  new Option(flags, `${about}; can be repeated`).argParser(
    (text: string, before: readonly string[] | undefined) => [...(before ?? []), text],
  )

export const limitOption = (): Option =>
  new Option('-n, --limit <n>', 'the maximum number of rows').argParser(parseInteger(1)).default(50)

export const reasonOption = (): Option => new Option('--reason <text>', 'the reason, for the audit trail')

/** Formats the choices of an option for a sentence: `a, b or c`. */
export const formatChoices = (choices: readonly string[]): string =>
  `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`
