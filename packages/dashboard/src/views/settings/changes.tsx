import { call, get } from '../../api/call.js'
import { useLoad } from '../../api/load.js'
import { may } from '../../api/role.js'
import type { ConfigVersion, Page } from '../../api/types.js'
import { ask } from '../../parts/ask.js'
import { Empty, Panel, Show, Table, Time } from '../../parts/basics.js'
import { say } from '../../parts/notice.js'

/** The versions of what was changed on top of the file, and the way back. */
export function Changes({ onChange }: { onChange: () => void }) {
  const loaded = useLoad('history', (signal) =>
    get<Page<ConfigVersion>>('/config/history', { limit: '100' }, signal),
  )
  const admin = may('admin')
  const act = (path: string, title: string, text: string, action: string, body: object = {}): void =>
    ask({
      title,
      text,
      action,
      danger: path !== 'reload',
      async run(reason) {
        await call('POST', `/config/${path}`, { body: { ...body, ...(reason && { reason }) } })
        say('Done. The configuration in force is below.')
        loaded.reload()
        onChange()
      },
    })
  return (
    <Panel
      title="Changes on top of the file"
      class="wide"
      actions={
        admin && (
          <>
            <button
              type="button"
              class="small secondary"
              onClick={() =>
                act(
                  'reload',
                  'Read the file again?',
                  'A file with mistakes is refused, and nothing changes.',
                  'Reload',
                )
              }
            >
              Reload the file
            </button>
            <button
              type="button"
              class="small secondary"
              onClick={() =>
                act(
                  'clear',
                  'Drop all changes?',
                  'The file alone counts then. The versions stay, to go back to.',
                  'Drop them',
                )
              }
            >
              Drop all changes
            </button>
          </>
        )
      }
    >
      <Show of={loaded}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No changes: the file alone counts">
              A policy that is saved under <a href="/policies">Policies</a> shows here as a version.
            </Empty>
          ) : (
            <Table
              label="Versions"
              head={['Version', 'Who', 'When', 'Reason', ...(admin ? ['Actions'] : [])]}
            >
              {items.map(({ version, by, at, reason }, index) => (
                <tr key={version}>
                  <th scope="row">
                    {version}
                    {index === 0 && ' (now)'}
                  </th>
                  <td>{by}</td>
                  <td>
                    <Time at={at} />
                  </td>
                  <td>{reason ?? ''}</td>
                  {admin && (
                    <td>
                      {index > 0 && (
                        <button
                          type="button"
                          class="small secondary"
                          aria-label={`Go back to version ${version}`}
                          onClick={() =>
                            act(
                              'rollback',
                              `Go back to version ${version}?`,
                              'What was changed after it is undone, as a new version.',
                              'Go back',
                              { version },
                            )
                          }
                        >
                          Go back
                        </button>
                      )}
                    </td>
                  )}
                </tr>
              ))}
            </Table>
          )
        }
      </Show>
    </Panel>
  )
}
