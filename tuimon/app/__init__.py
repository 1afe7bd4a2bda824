"""The screen: MonitorApp and its themes. It shows Snapshots and computes nothing of a run."""
