import { type Command, Option } from 'commander'
import { ROLES, type Role } from '../../access/roles.js'
import { type Act, withEach, withExamples } from './act.js'
import { reason } from './options.js'

/** Who is let in, and the words of the command itself. */
export function addAccess(root: Command, act: Act): void {
  const load = () => import('../work/token.js')
  const token = root.command('token').description("who is let in to the server; works on the config's store")
  withExamples(token, 'holdfast token create grafana --role viewer', 'holdfast token revoke grafana')
  token
    .command('create')
    .description('make a token and show it once')
    .argument('<name>', 'whose it is, for the audit trail')
    .addOption(new Option('--role <role>', 'what it may do').choices(ROLES).default('viewer'))
    .addOption(reason())
    .action((name: string, options: { role: Role; reason?: string }) =>
      act(async (context) => (await load()).create(context, name, options)),
    )
  token
    .command('list')
    .description('list them, without what opens the door')
    .action(() => act(async (context) => (await load()).list(context)))
  token
    .command('revoke')
    .description('make one worthless, at once')
    .argument('<name>')
    .addOption(reason())
    .action((name: string, options: { reason?: string }) =>
      act(async (context) => (await load()).revoke(context, name, options)),
    )
  withEach(token, {
    create: ['holdfast token create grafana --role viewer', 'holdfast token create ann --role admin'],
    list: ['holdfast token list --json'],
    revoke: ['holdfast token revoke grafana --reason "it leaked"'],
  })
  withExamples(
    root
      .command('completion')
      .description('a script that completes the words of this command')
      .argument('<shell>', 'bash, zsh or fish')
      .action((shell: string) =>
        act(async (context) => (await import('../work/completion.js')).completion(context, root, shell)),
      ),
    'holdfast completion bash > /etc/bash_completion.d/holdfast',
  )
}
