import type { Command } from 'commander'
import type { ActionResult, CommandContext } from '../context/context.js'

/** Runs the work of a command and keeps what it ends with. */
export type RunAction = (work: (context: CommandContext) => ActionResult) => Promise<void>

/** A command with its examples, which its help ends with. */
export const withExamples = (command: Command, ...examples: readonly string[]): Command =>
  command.addHelpText('after', `\nExamples\n${examples.map((line) => `  $ ${line}`).join('\n')}\n`)

/** The same for the commands of a group, by their names. */
export function addExamples(group: Command, examples: Readonly<Record<string, readonly string[]>>): void {
  for (const command of group.commands) withExamples(command, ...(examples[command.name()] ?? []))
}
