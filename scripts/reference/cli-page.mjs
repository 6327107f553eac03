// The page of the command, from its own definitions.
import { code, escapeText, fence, table } from './markdown.mjs'
import { factPage } from './tables.mjs'

/**
 * @typedef {object} Command a command of commander, as the version of the server has it
 * @property {() => string} name
 * @property {() => string[]} aliases
 * @property {() => string} description
 * @property {() => string} usage
 * @property {readonly Command[]} commands
 * @property {readonly { flags: string, description: string, defaultValue?: unknown, argChoices?: readonly string[] }[]} options
 * @property {readonly { name: () => string, required: boolean, variadic: boolean, description: string }[]} registeredArguments
 * @property {(output: { writeOut: (text: string) => void }) => unknown} configureOutput
 * @property {() => void} outputHelp
 */

const IO = {
  isTerminal: false,
  hasColours: false,
  columns: () => 100,
  out() {},
  err() {},
}

/** @param {Command} command @param {string} path @returns {{ command: Command, path: string }[]} */
const commandsOf = (command, path) =>
  command.commands
    .filter((one) => one.name() !== 'help')
    .flatMap((one) => {
      const own = `${path} ${one.name()}`
      return [{ command: one, path: own }, ...commandsOf(one, own)]
    })

/** Sentences of help texts begin in lower case and have no full stop. @param {string} text */
const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`

/** @param {Command} command */
const optionTable = (command) =>
  command.options.length === 0
    ? undefined
    : table(
        ['option', 'default', 'description'],
        command.options.map(({ flags, description, defaultValue, argChoices }) => {
          const isEmpty =
            defaultValue === undefined || (Array.isArray(defaultValue) && defaultValue.length === 0)
          // A default that is computed is part of the description.
          const [, text = '', computed = ''] = description.match(/^(.*?)(?: \(default: (.*)\))?$/s) ?? []
          const choices =
            argChoices === undefined || argChoices.every((choice) => text.includes(choice))
              ? ''
              : ` One of ${argChoices.map(code).join(', ')}.`
          return [
            code(flags),
            isEmpty
              ? escapeText(computed)
              : code(typeof defaultValue === 'string' ? defaultValue : JSON.stringify(defaultValue)),
            `${escapeText(sentence(text))}${choices}`,
          ]
        }),
      )

/** @param {Command} command */
const argumentTable = (command) =>
  command.registeredArguments.length === 0
    ? undefined
    : table(
        ['argument', 'required', 'description'],
        command.registeredArguments.map((one) => [
          code(`${one.name()}${one.variadic ? '…' : ''}`),
          one.required ? 'yes' : '',
          one.description === '' ? '' : escapeText(sentence(one.description)),
        ]),
      )

/** The text that a command adds after its help. @param {Command} command @returns {string} */
function textAfterHelp(command) {
  let text = ''
  command.configureOutput({ writeOut: (part) => void (text += part) })
  command.outputHelp()
  return text
}

/** @param {Command} command @param {string} heading */
function helpSection(command, heading) {
  const lines = textAfterHelp(command).split('\n')
  const start = lines.indexOf(heading)
  if (start < 0) return []
  const end = lines.findIndex((line, index) => index > start && line.trim() === '')
  return lines.slice(start + 1, end < 0 ? undefined : end).map((line) => line.trim())
}

/** @param {Command} command */
function examples(command) {
  const lines = helpSection(command, 'Examples').map((line) => line.replace(/^\$ /, ''))
  return lines.length === 0 ? undefined : fence(lines.join('\n'), 'sh')
}

/** A section of the help with two columns. @param {Command} root @param {string} heading @param {[string, string]} head */
const twoColumns = (root, heading, head) =>
  table(
    head,
    helpSection(root, heading).map((line) => {
      const [, name = '', meaning = ''] = line.match(/^(.+?)\s{2,}(.*)$/) ?? []
      return [name.split(', ').map(code).join(', '), escapeText(sentence(meaning))]
    }),
  )

/** @param {Record<string, any>} sources */
export function cliPage({ createProgram }) {
  /** @type {Command} */
  const root = createProgram(IO, '', async () => {})
  const commands = commandsOf(root, 'holdfast')
  return factPage(
    5,
    'Command line',
    `${root.description()} Guide: [command](../cli.md).`,
    '## Commands',
    table(
      ['command', 'description'],
      commands.map(({ command, path }) => [
        `[${code(path)}](#${path.replaceAll(' ', '-')})`,
        escapeText(sentence(command.description())),
      ]),
    ),
    '## Global options',
    'Every command accepts them.',
    optionTable(root),
    '## Exit codes',
    twoColumns(root, 'Exit codes', ['code', 'meaning']),
    '## Environment',
    twoColumns(root, 'Environment', ['variable', 'meaning']),
    ...commands.flatMap(({ command, path }) => [
      `## ${path}`,
      escapeText(sentence(command.description())),
      fence(`${path} ${command.usage()}`, 'sh'),
      command.aliases().length === 0 ? undefined : `Alias: ${command.aliases().map(code).join(', ')}.`,
      argumentTable(command),
      optionTable(command),
      examples(command),
    ]),
  )
}
