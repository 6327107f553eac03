import type { Command } from 'commander'
import type { ActionResult, CommandContext } from '../context/context.js'

/** Runs the action of a command and stores its exit code. */
export type RunAction = (action: (context: CommandContext) => ActionResult) => Promise<void>

/** Adds examples to the end of the help of a command. */
export const withExamples = (command: Command, ...examples: readonly string[]): Command =>
  command.addHelpText('after', `\nExamples\n${examples.map((line) => `  $ ${line}`).join('\n')}\n`)

/** Adds examples to the subcommands of a group, by their names. */
export function addExamples(group: Command, examples: Readonly<Record<string, readonly string[]>>): void {
  for (const command of group.commands) withExamples(command, ...(examples[command.name()] ?? []))
}
