import type { Command } from 'commander'
import type { RequestCommandOptions } from '../actions/request.js'
import type { ServeCommandOptions } from '../actions/serve.js'
import { parseInteger, repeatable } from './options.js'
import { type RunAction, withExamples } from './run-action.js'

/** What runs: the server, the proxy, a request. */
export function addRun(root: Command, runAction: RunAction): void {
  withExamples(
    root
      .command('serve')
      .description(
        'run the server, the dashboard, and the forward proxy where the config has one, until Ctrl-C',
      )
      .option(
        '--demo',
        'with local services of every quality and traffic between them; keeps its data in ./data',
      )
      .option('--host <address>', 'where it listens; anything but this machine needs a token')
      .option('-p, --port <port>', 'its port; 0 takes any that is free', parseInteger(0, 65_535))
      .option('--proxy-port <port>', 'the port of the forward proxy', parseInteger(0, 65_535))
      .action((options: ServeCommandOptions) =>
        runAction(async (context) => (await import('../actions/serve.js')).runServe(context, options)),
      ),
    'holdfast serve',
    'holdfast serve --demo',
    'holdfast serve --config prod.yaml --port 9000',
  )
  withExamples(
    root
      .command('proxy')
      .description('run the forward proxy alone, until Ctrl-C')
      .option('--host <address>', 'where it listens; anything but this machine needs users')
      .option('-p, --port <port>', 'its port; 0 takes any that is free', parseInteger(0, 65_535))
      .option('--pool <id>', 'the pool it rotates over')
      .action((options: { host?: string; port?: number; pool?: string }) =>
        runAction(async (context) => (await import('../actions/serve.js')).runProxy(context, options)),
      ),
    'holdfast proxy --pool proxies --port 8080',
    'curl -x http://127.0.0.1:8080 https://example.com/',
  )
  withExamples(
    root
      .command('request')
      .description('send one request under a policy and through a pool, and show its attempts')
      .argument('<url>', 'where it goes')
      .option('-X, --method <method>', 'the method (default: GET, or POST with --data)')
      .addOption(repeatable('-H, --header <line>', 'a header').default([]))
      .option('-d, --data <text>', 'the body')
      .option('--pool <id>', 'the pool it goes through')
      .option('--policy <id>', "the policy it goes by (default: the pool's)")
      .option('-i, --include', 'print the status and the headers before the body')
      .action((url: string, options: RequestCommandOptions) =>
        runAction(async (context) =>
          (await import('../actions/request.js')).sendRequest(context, url, options),
        ),
      ),
    'holdfast request https://example.com/ --pool proxies',
    'holdfast request https://api.example.com/items -X PUT -d \'{"a":1}\' -H "content-type: application/json"',
  )
}
