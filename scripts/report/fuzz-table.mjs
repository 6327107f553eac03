/** A row of the table: the last run of a target. The target is a link to its file; the property is written by hand. */
const ROW_PATTERN =
  /^\| \[(?<name>[\w-]+)\]\((?<file>[^)]+)\) \| (?<property>.+) \| (?<cases>[\d,]+) \| (?<date>[\d-]+) \| `(?<command>[^`]+)` \|$/

/** The part of the sentence above the table that names the targets with a failed case. */
const FAILED_PATTERN = /Targets with a failed case: (?<names>.+)\.$/m

/**
 * The last run of a target.
 *
 * @typedef {{ date: string, command: string, cases: number, failure?: string | undefined }} FuzzResult
 */

/** @param {number} value */
const format = (value) => value.toLocaleString('en-US')

/**
 * Replaces the runs in a section with later ones. Targets without a later run keep the run of the section, also a failed one.
 *
 * @param {string} section the text between the markers
 * @param {readonly string[]} names the names of all targets
 * @param {ReadonlyMap<string, FuzzResult>} results the last runs
 * @returns {string}
 */
export function updateFuzzSection(section, names, results) {
  const found = section
    .split('\n')
    .map((line) => ROW_PATTERN.exec(line)?.groups)
    .filter((row) => row !== undefined)
  const inTable = found.map(({ name }) => name)
  const different = [
    ...names.filter((name) => !inTable.includes(name)),
    ...inTable.filter((name) => !names.includes(name ?? '')),
  ]
  if (different.length > 0)
    throw new Error(
      `expected one row for each target with its property, differences: ${different.join(', ')}`,
    )
  const failedBefore = FAILED_PATTERN.exec(section)?.groups?.names?.split(', ') ?? []
  const rows = found.map(({ name = '', file, property, cases = '', date = '', command = '' }) => ({
    name,
    file,
    property,
    run: results.get(name) ?? {
      cases: Number(cases.replaceAll(',', '')),
      date,
      command,
      failure: failedBefore.includes(name) ? 'a case of an earlier run' : undefined,
    },
  }))
  const failed = rows.filter(({ run }) => run.failure !== undefined).map(({ name }) => name)
  const dates = rows.map(({ run }) => run.date).sort()
  const total = rows.reduce((sum, { run }) => sum + run.cases, 0)
  const period = dates[0] === dates.at(-1) ? `on ${dates[0]}` : `from ${dates[0]} to ${dates.at(-1)}`
  const outcome =
    failed.length === 0 ? 'None of them failed.' : `Targets with a failed case: ${failed.join(', ')}.`
  return [
    `The last runs of the ${rows.length} targets, ${period}, had ${format(total)} cases. ${outcome}`,
    '',
    '| target | property | cases | date | command |',
    '|---|---|---|---|---|',
    ...rows.map(
      ({ name, file, property, run }) =>
        `| [${name}](${file}) | ${property} | ${format(run.cases)} | ${run.date} | \`${run.command}\` |`,
    ),
  ].join('\n')
}
