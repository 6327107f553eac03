import { callApi, getJson } from '../../api/client.js'
import { hasRole } from '../../api/role.js'
import type { WireConfigVersion, WirePage } from '../../api/types.js'
import { useQuery } from '../../api/use-query.js'
import { EmptyState, Panel, QueryView, Table, Time } from '../../components/basics.js'
import { confirm } from '../../components/confirm-dialog.js'
import { toast } from '../../components/toast.js'

/** The versions of the changes made through the API, with rollback. */
export function ConfigChanges({ onChange }: { onChange: () => void }) {
  const loaded = useQuery('history', (signal) =>
    getJson<WirePage<WireConfigVersion>>('/config/history', { limit: '100' }, signal),
  )
  const isAdmin = hasRole('admin')
  const confirmChange = (
    path: string,
    title: string,
    text: string,
    action: string,
    body: object = {},
  ): void =>
    confirm({
      title,
      text,
      action,
      isDangerous: path !== 'reload',
      async run(reason) {
        await callApi('POST', `/config/${path}`, { body: { ...body, ...(reason && { reason }) } })
        toast('Done. The active configuration is shown below.')
        loaded.reload()
        onChange()
      },
    })
  return (
    <Panel
      title="Changes through the API"
      class="wide"
      actions={
        isAdmin && (
          <>
            <button
              type="button"
              class="small secondary"
              onClick={() =>
                confirmChange(
                  'reload',
                  'Reload the config file?',
                  'An invalid file is rejected, and nothing changes.',
                  'Reload',
                )
              }
            >
              Reload file
            </button>
            <button
              type="button"
              class="small secondary"
              onClick={() =>
                confirmChange(
                  'clear',
                  'Delete all changes?',
                  'Only the config file applies then. The versions are kept for a rollback.',
                  'Delete all',
                )
              }
            >
              Delete all changes
            </button>
          </>
        )
      }
    >
      <QueryView of={loaded}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState title="No changes through the API">
              Each change of a <a href="/policies">policy</a> creates a version here.
            </EmptyState>
          ) : (
            <Table
              label="Versions"
              head={['Version', 'Actor', 'Time', 'Reason', ...(isAdmin ? ['Actions'] : [])]}
            >
              {items.map(({ version, by, at, reason }, index) => (
                <tr key={version}>
                  <th scope="row">
                    {version}
                    {index === 0 && ' (current)'}
                  </th>
                  <td>{by}</td>
                  <td>
                    <Time at={at} />
                  </td>
                  <td>{reason ?? ''}</td>
                  {isAdmin && (
                    <td>
                      {index > 0 && (
                        <button
                          type="button"
                          class="small secondary"
                          aria-label={`Roll back to version ${version}`}
                          onClick={() =>
                            confirmChange(
                              'rollback',
                              `Roll back to version ${version}?`,
                              'Later changes are undone. The rollback creates a new version.',
                              'Roll back',
                              { version },
                            )
                          }
                        >
                          Roll back
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
