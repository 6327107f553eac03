import { callApi, getJson } from '../../api/client.js'
import { hasRole } from '../../api/role.js'
import type { WireConfigVersion, WirePage } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { EmptyState, Panel, QueryView, Table, Time } from '../../components/basics.js'
import { confirm } from '../../components/confirm-dialog.js'
import { toast } from '../../components/toast.js'

/** The versions of what was changed on top of the file, and the way back. */
export function ConfigChanges({ onChange }: { onChange: () => void }) {
  const loaded = useQuery('history', (signal) =>
    getJson<WirePage<WireConfigVersion>>('/config/history', { limit: '100' }, signal),
  )
  const admin = hasRole('admin')
  const act = (path: string, title: string, text: string, action: string, body: object = {}): void =>
    confirm({
      title,
      text,
      action,
      isDangerous: path !== 'reload',
      async run(reason) {
        await callApi('POST', `/config/${path}`, { body: { ...body, ...(reason && { reason }) } })
        toast('Done. The configuration in force is below.')
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
      <QueryView of={loaded}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState title="No changes: the file alone counts">
              A policy that is saved under <a href="/policies">Policies</a> shows here as a version.
            </EmptyState>
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
      </QueryView>
    </Panel>
  )
}
